package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// putTimeout limits storing one object. The time for which a client waits is longer, so that it
	// gets an answer. It is longer by a second for each putRate bytes, which attachments do not have.
	putTimeout = 15 * time.Second * timeout.Scale
	putRate    = 16 << 20
	// shortTimeout limits a request without a content.
	shortTimeout = 10 * time.Second * timeout.Scale
	// maxTries is how often a request is sent in all: storage answers 500 and 503 in passing.
	maxTries = 3
	// defaultRegion is what services other than AWS expect where they have no regions.
	defaultRegion = "us-east-1"
	// awsEndpoint is the default.
	awsEndpoint = "https://s3.amazonaws.com"
)

// ErrUnavailable is the error of a storage that does not work: it cannot be reached, refuses the
// credentials, or has no such bucket.
var ErrUnavailable = errors.New("the object storage is unavailable")

// S3 keeps objects in a bucket of Amazon S3 or a compatible service.
type S3 struct {
	core           minio.Core
	bucket, prefix string // the prefix is empty or ends with a slash
	endpoint       string
}

// ParseS3 returns the store of an address s3://BUCKET/PREFIX?endpoint=URL&region=REGION. Without an
// endpoint it is that of AWS. Credentials come from where the AWS tools take them: the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), their files, or the role of the machine. It connects
// to nothing.
func ParseS3(address string) (*S3, error) {
	const form = "must be s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION"
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New(form)
	}
	query := u.Query()
	for name := range query {
		if name != "endpoint" && name != "region" {
			return nil, fmt.Errorf("%s; %q is unknown", form, name)
		}
	}
	s := &S3{bucket: u.Host, endpoint: query.Get("endpoint")}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		s.prefix = prefix + "/"
	}
	if s.prefix != "" && !validKey(strings.TrimSuffix(s.prefix, "/")) {
		return nil, errors.New("the prefix may have a-z, 0-9, _, -, . and slashes")
	}
	if s.endpoint == "" {
		s.endpoint = awsEndpoint
	}
	at, err := url.Parse(s.endpoint)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.Trim(at.Path, "/") != "" {
		return nil, errors.New("endpoint must be https://HOST or http://HOST:PORT")
	}
	region := query.Get("region")
	if region == "" {
		region = defaultRegion
	}
	client, err := minio.New(at.Host, &minio.Options{Secure: at.Scheme == "https", Region: region, MaxRetries: maxTries,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: shortTimeout}}})})
	if err != nil {
		return nil, err
	}
	s.core = minio.Core{Client: client}
	return s, nil
}

// String implements Store.
func (s *S3) String() string {
	return "s3://" + s.bucket + "/" + s.prefix + "?endpoint=" + s.endpoint
}

// fail returns the error of a request.
func (s *S3) fail(what, key string, err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%s object %s: %w", what, key, ErrNotFound)
	}
	return fmt.Errorf("%s object %s in %s: %w: %w", what, key, s, ErrUnavailable, err)
}

// Put implements Store. The content is complete in a temporary file before it is sent, so that its
// length is known and it can be sent again.
func (s *S3) Put(ctx context.Context, key string, write func(io.Writer) error) (err error) {
	if !validKey(key) {
		return fmt.Errorf("BUG: %q is not the key of an object", key)
	}
	file, err := os.CreateTemp("", "fieldmark-object-")
	if err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	_ = os.Remove(file.Name()) // it exists while it is open, and not after a crash
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := write(file); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout+time.Duration(size/putRate)*time.Second)
	defer cancel()
	_, err = s.core.Client.PutObject(ctx, s.bucket, s.prefix+key, file, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true})
	if err != nil {
		return s.fail("put", key, err)
	}
	return nil
}

// Open implements Store. The content is read while ctx lasts.
func (s *S3) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	return s.OpenAt(ctx, key, 0)
}

// OpenAt implements Store, as Open.
func (s *S3) OpenAt(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	if offset > 0 { // SetRange(0, 0) would be the first byte alone
		if err := options.SetRange(offset, 0); err != nil {
			return nil, fmt.Errorf("open object %s at %d: %w", key, offset, err)
		}
	}
	body, _, _, err := s.core.GetObject(ctx, s.bucket, s.prefix+key, options)
	if err != nil {
		return nil, s.fail("open", key, err)
	}
	return body, nil
}

// URL implements Store, by a signature in the address.
func (s *S3) URL(ctx context.Context, key string, lifetime time.Duration) (string, error) {
	u, err := s.core.Client.PresignedGetObject(ctx, s.bucket, s.prefix+key, lifetime, nil)
	if err != nil {
		return "", s.fail("sign the address of", key, err)
	}
	return u.String(), nil
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	err := s.core.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err != nil {
		return s.fail("delete", key, err)
	}
	return nil
}

// List implements Store.
func (s *S3) List(ctx context.Context, prefix string, each func(Object) error) error {
	ctx, cancel := context.WithCancel(ctx) // ends the requests when each fails
	defer cancel()
	for o := range s.core.Client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix,
		Recursive: true}) {
		if o.Err != nil {
			return s.fail("list", path.Clean(prefix), o.Err)
		}
		if err := each(Object{Key: strings.TrimPrefix(o.Key, s.prefix), Size: o.Size}); err != nil {
			return err
		}
	}
	return nil
}
