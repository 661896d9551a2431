package localstack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

// codeBucket is where functions and templates are uploaded to.
const codeBucket = "baton-code"

// upload puts a function into the bucket, unless the same program is there, and returns its key.
func (s Server) upload(ctx context.Context, f Function) (key string, err error) {
	key = f.Hash + ".zip"
	if status, err := s.call(ctx, "s3", http.MethodHead, "/"+codeBucket+"/"+key, nil); err != nil || status == http.StatusOK {
		return key, err
	}
	archive, err := pack(f.Binary)
	if err != nil {
		return "", err
	}
	status, err := s.call(ctx, "s3", http.MethodPut, "/"+codeBucket+"/"+key, archive)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("upload %s: status %d", f.Folder, status)
	}
	return key, err
}

// pack makes the archive that Lambda wants of a program: one file named bootstrap.
func pack(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
