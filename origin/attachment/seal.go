package attachment

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// chunkSize is how much of a file is encrypted at once: reading needs this much memory, and no
// byte is returned before the whole chunk was authenticated.
const chunkSize = 64 << 10

// keySize is that of AES-256.
const keySize = 32

// errDamaged is the error of reading a file that is not what was stored.
var errDamaged = errors.New("the stored file is damaged: a chunk is changed, missing or out of order")

// newKey returns the key of one file.
func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key) // never fails (crypto/rand)
	return key
}

// stream encrypts or decrypts the chunks of one file. It is the STREAM construction of Hoang,
// Reyhanitabar, Rogaway and Vizár ("Online Authenticated-Encryption and its Nonce-Reuse
// Misuse-Resistance", 2015) with AES-256-GCM: the nonce of a chunk is its number and, in the
// last byte, whether it is the last one. So a chunk does not open in another place, and a file
// that ends early has no last chunk. Nonces do not repeat, because each file has its own key.
type stream struct {
	aead   cipher.AEAD
	number uint64
}

func newStream(key []byte) (stream, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return stream{}, err
	}
	aead, err := cipher.NewGCM(block)
	return stream{aead: aead}, err
}

// nonce returns the nonce of the next chunk.
func (s *stream) nonce(last bool) []byte {
	var n [12]byte // of GCM
	binary.BigEndian.PutUint64(n[3:11], s.number)
	if last {
		n[11] = 1
	}
	s.number++
	return n[:]
}

// sealer encrypts what is written to it.
type sealer struct {
	stream
	to     io.Writer
	chunk  []byte // not yet encrypted: it may be the last
	sealed []byte
}

func newSealer(to io.Writer, key []byte) (*sealer, error) {
	s, err := newStream(key)
	if err != nil {
		return nil, err
	}
	return &sealer{stream: s, to: to, chunk: make([]byte, 0, chunkSize),
		sealed: make([]byte, 0, chunkSize+s.aead.Overhead())}, nil
}

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(s.chunk) == chunkSize {
			if err := s.flush(false); err != nil {
				return n, err
			}
		}
		taken := min(len(p), chunkSize-len(s.chunk))
		s.chunk = append(s.chunk, p[:taken]...)
		p, n = p[taken:], n+taken
	}
	return n, nil
}

// finish encrypts the last chunk. Without it the file is incomplete.
func (s *sealer) finish() error { return s.flush(true) }

func (s *sealer) flush(last bool) error {
	s.sealed = s.aead.Seal(s.sealed[:0], s.nonce(last), s.chunk, nil)
	s.chunk = s.chunk[:0]
	_, err := s.to.Write(s.sealed)
	return err
}

// opener decrypts a file. It returns no byte of a chunk that is not authentic, and errDamaged in
// place of the end of a file that is not complete.
type opener struct {
	stream
	from   *bufio.Reader
	sealed []byte
	plain  []byte // what was decrypted and not yet read
	done   bool
	err    error
}

func newOpener(from io.Reader, key []byte) (*opener, error) {
	s, err := newStream(key)
	if err != nil {
		return nil, err
	}
	size := chunkSize + s.aead.Overhead()
	return &opener{stream: s, from: bufio.NewReaderSize(from, size), sealed: make([]byte, size)}, nil
}

// Read implements io.Reader.
func (o *opener) Read(p []byte) (int, error) {
	if len(o.plain) == 0 && o.err == nil {
		o.next()
	}
	n := copy(p, o.plain)
	o.plain = o.plain[n:]
	if n == 0 && len(p) > 0 {
		return 0, o.err
	}
	return n, nil
}

// prefetch decrypts the first chunk.
func (o *opener) prefetch() error {
	o.next()
	return o.err
}

// next decrypts the next chunk.
func (o *opener) next() {
	if o.done {
		o.err = io.EOF
		return
	}
	n, err := io.ReadFull(o.from, o.sealed)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		o.err = fmt.Errorf("read a stored file: %w", err)
		return
	}
	// A chunk of full size is the last if nothing follows it.
	_, peek := o.from.Peek(1)
	if peek != nil && !errors.Is(peek, io.EOF) {
		o.err = fmt.Errorf("read a stored file: %w", peek)
		return
	}
	o.done = peek != nil
	if o.plain, err = o.aead.Open(o.sealed[:0], o.nonce(o.done), o.sealed[:n], nil); err != nil {
		o.plain, o.err = nil, errDamaged
	}
}

// sealedSize returns the size of the object of a file.
func sealedSize(plain int64) int64 {
	const overhead = 16 // of GCM
	return plain + max(1, (plain+chunkSize-1)/chunkSize)*overhead
}
