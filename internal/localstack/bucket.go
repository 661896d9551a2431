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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// codeBucket is where functions and templates are uploaded to.
const codeBucket = "baton-code"

// s3 makes one request to S3. Its own SDK client would take longer to compile than all the rest of this package.
func (s Server) s3(ctx context.Context, method, path string, body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Endpoint()+"/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	const payload = "UNSIGNED-PAYLOAD"
	req.Header.Set("X-Amz-Content-Sha256", payload)
	key := aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, key, req, payload, "s3", Region, time.Now()); err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode >= 300 && res.StatusCode != http.StatusNotFound {
		return res.StatusCode, fmt.Errorf("%s %s: %s\n%s", method, path, res.Status, text)
	}
	return res.StatusCode, nil
}

// upload puts a function into the bucket, unless the same program is there, and returns its key.
func (s Server) upload(ctx context.Context, f Function) (key string, err error) {
	key = f.Hash + ".zip"
	if status, err := s.s3(ctx, http.MethodHead, codeBucket+"/"+key, nil); err != nil || status == http.StatusOK {
		return key, err
	}
	archive, err := pack(f.Binary)
	if err != nil {
		return "", err
	}
	status, err := s.s3(ctx, http.MethodPut, codeBucket+"/"+key, archive)
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
