package localstack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// call makes one request to a service that takes plain HTTP. A status of 404 is no error.
func (s Server) call(ctx context.Context, service, method, path string, body []byte) (status int, err error) {
	res, text, err := s.request(ctx, service, method, path, "", body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode >= 300 && res.StatusCode != http.StatusNotFound {
		return res.StatusCode, fmt.Errorf("%s %s: %s\n%s", method, path, res.Status, text)
	}
	return res.StatusCode, nil
}

// request makes one request as the account's root. The services' own SDK clients would take longer to compile than all the
// rest of this package.
func (s Server) request(ctx context.Context, service, method, path, contentType string, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Endpoint()+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	const payload = "UNSIGNED-PAYLOAD"
	req.Header.Set("X-Amz-Content-Sha256", payload)
	key := aws.Credentials{AccessKeyID: AccessKeyID, SecretAccessKey: SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, key, req, payload, service, Region, time.Now()); err != nil {
		return nil, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, text, err
}
