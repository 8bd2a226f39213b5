package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fieldmark/fieldmark/cache"
)

const (
	// Block is how long a read waits for entries.
	Block = time.Second
	// readTimeout bounds a read beyond its wait. A follower has another source, so it may be short.
	readTimeout = time.Second
	// readCount is the maximum number of entries of a read.
	readCount = 1000
)

// ErrEpoch is returned when the stream is of another epoch.
var ErrEpoch = errors.New("the stream has another epoch")

// Batch is what a follower reads at once.
type Batch struct {
	Entries []Entry
	Beat    *Beat  // nil: no writer renews it
	Raw     string // of the beat: another one with each beat
}

// Reader reads a stream. It writes nothing, so it may be connected to a replica. It must not be used by
// several goroutines at once.
type Reader struct{ client redis.UniversalClient }

// NewReader returns a Reader for a Redis URL (see cache.RedisConfig), with separate connections. It
// does not connect.
func NewReader(url string) (*Reader, error) {
	client, err := cache.NewRedisClient(url)
	if err != nil {
		return nil, fmt.Errorf("configure the stream: %w", err)
	}
	return &Reader{client: client}, nil
}

// Close closes the connections.
func (r *Reader) Close() error { return r.client.Close() }

// Read returns the entries of an epoch after a number, and then the beat. Without entries it waits for
// one for up to block, at most Block; 0: it does not wait.
func (r *Reader) Read(ctx context.Context, epoch string, after int64, block time.Duration) (b Batch, err error) {
	block = min(block, Block)
	ctx, cancel := context.WithTimeout(ctx, block+readTimeout)
	defer cancel()
	if block <= 0 {
		block = -1 // go-redis leaves BLOCK out
	}
	log, _, beat := keys(epoch)
	found, err := r.client.XRead(ctx, &redis.XReadArgs{Streams: []string{log, fmt.Sprintf("%d-0", after)},
		Count: readCount, Block: block}).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return b, fmt.Errorf("read the stream after %d: %w", after, err)
	}
	// After the entries: a beat that is seen has no earlier entries that are not.
	var current, raw *redis.StringCmd
	_, err = r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		current, raw = p.Get(ctx, epochKey), p.Get(ctx, beat)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return b, fmt.Errorf("read the beat: %w", err)
	}
	if current.Val() != epoch {
		return b, ErrEpoch
	}
	if b.Raw = raw.Val(); b.Raw != "" {
		parsed, err := parseBeat(b.Raw)
		if err != nil {
			return b, err
		}
		b.Beat = &parsed
	}
	for _, s := range found {
		for i := range s.Messages {
			e, err := parseEntry(&s.Messages[i])
			if err != nil {
				return b, err
			}
			b.Entries = append(b.Entries, e)
		}
	}
	return b, nil
}
