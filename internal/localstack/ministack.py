# Runs the local AWS in this process. With a folder as its argument it ends as soon as standard input is closed, with
# everything in its process group, and removes the folder: so a server made by a test never outlives the test.
import os
import shutil
import signal
import sys
import threading

if len(sys.argv) > 1:
    folder = sys.argv.pop()

    def leave():
        while sys.stdin.buffer.read(4096):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=leave, daemon=True).start()

from ministack.app import main

main()
