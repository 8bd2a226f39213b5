package h3

import (
	"io"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// Frame is a frame.
type Frame struct {
	Type    uint64
	Payload []byte
}

// Frames splits the bytes of r as a stream does.
func Frames(r io.Reader) (all []Frame, err error) {
	in := frameReader{r: r, store: make([]byte, 2*maxFrameHeader)}
	for {
		f := Frame{}
		if f.Type, _, err = in.next(); err != nil {
			return all, err
		}
		for {
			p, err := in.data()
			if err != nil {
				return all, err
			}
			if p == nil {
				break
			}
			f.Payload = append(f.Payload, p...)
		}
		all = append(all, f)
	}
}

// Decode decodes a header block.
func Decode(block []byte) (list mux.FieldList, err error) {
	err = decode(&list, block)
	return list, err
}
