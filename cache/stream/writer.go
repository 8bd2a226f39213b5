package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// callTimeout bounds one call of a writer. A Redis that is slower delays followers more than
// polling does, so the writer pauses instead.
const callTimeout = 50 * time.Millisecond * timeout.Scale

// dialTimeout bounds the first call of a connection, which also needs handshakes.
const dialTimeout = time.Second * timeout.Scale

// ErrFenced is returned to a writer when one with a later fencing token has written.
var ErrFenced = errors.New("another writer has a later fencing token")

// appendScript appends entries if the stream ends with the entry that the writer expects, or
// is empty, and returns the number of the last entry. The entries and the beat are one step, so
// that on a replica, too, no beat precedes its entries.
const appendScript = `
local fence = tonumber(redis.call('GET', KEYS[2]) or '0')
if fence > tonumber(ARGV[1]) then return -1 end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local top = 0
if last[1] then top = tonumber(string.match(last[1][1], '^%d+')) end
if top > 0 and top ~= tonumber(ARGV[2]) then return top end
local i = 7
for _ = 1, tonumber(ARGV[6]) do
	local number, n = ARGV[i], tonumber(ARGV[i + 1])
	redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], number .. '-0', unpack(ARGV, i + 2, i + 1 + n))
	top = tonumber(number)
	i = i + 2 + n
end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5])
return top`

// Writer appends to the stream of one epoch. It must not be used by several goroutines at once.
type Writer struct {
	client redis.UniversalClient
	sha    string
	dialed bool
}

// NewWriter returns a Writer for a Redis URL (see cache.RedisConfig). It does not connect.
func NewWriter(url string) (*Writer, error) {
	client, err := cache.NewRedisClient(url)
	if err != nil {
		return nil, fmt.Errorf("configure the mirror: %w", err)
	}
	return &Writer{client: client}, nil
}

// Close closes the connections.
func (w *Writer) Close() error { return w.client.Close() }

// call runs do under a deadline.
func (w *Writer) call(ctx context.Context, do func(context.Context) error) error {
	limit := callTimeout
	if !w.dialed {
		limit = dialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(ctx)
	w.dialed = err == nil
	return err
}

// Append appends entries after the entry with the number expected, and writes the beat. It returns
// the number of the last entry of the stream, 0 if it has none. If that is not the one of the last
// entry of the call, or expected without entries, nothing was written unless the stream is empty: the
// caller continues after the number returned. The error is ErrFenced if the writer is not
// the latest. After any other error the entries may have been appended; a repetition is harmless.
func (w *Writer) Append(ctx context.Context, epoch string, fence, expected int64, entries []Entry, b Beat) (
	top int64, err error) {
	b.micros = time.Now().UnixMicro()
	args := []any{fence, expected, maxLength, b.String(), beatTTL.Milliseconds(), len(entries)}
	for i := range entries {
		args = entries[i].appendArgs(args)
	}
	log, fenceKey, beat := keys(epoch)
	err = w.call(ctx, func(ctx context.Context) (err error) {
		if w.sha == "" {
			if w.sha, err = w.client.ScriptLoad(ctx, appendScript).Result(); err != nil {
				return err
			}
		}
		top, err = w.client.EvalSha(ctx, w.sha, []string{log, fenceKey, beat}, args...).Int64()
		return err
	})
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		w.sha = "" // the server was started again
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("append to the stream: %w", err)
	case top < 0:
		return 0, ErrFenced
	}
	return top, nil
}

// SetEpoch makes epoch the one that followers read, and lets the keys of the one before it expire. If it
// is not a takeover, another epoch stays and the error is ErrEpoch: a writer that was suspended must
// not bring back the epoch of a database that was replaced.
func (w *Writer) SetEpoch(ctx context.Context, epoch string, takeover bool) error {
	return w.call(ctx, func(ctx context.Context) error {
		before, err := w.client.Get(ctx, epochKey).Result()
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return fmt.Errorf("read the epoch: %w", err)
		case before == epoch:
			return nil
		case before != "" && !takeover:
			return ErrEpoch
		}
		if err := w.client.Set(ctx, epochKey, epoch, 0).Err(); err != nil {
			return fmt.Errorf("set the epoch: %w", err)
		}
		if before == "" {
			return nil
		}
		log, fence, beat := keys(before)
		for _, key := range []string{log, fence, beat} {
			if err := w.client.Expire(ctx, key, oldEpochTTL).Err(); err != nil {
				return fmt.Errorf("let the keys of the epoch before expire: %w", err)
			}
		}
		return nil
	})
}
