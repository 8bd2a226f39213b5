package h2

// Frames splits b into frames as a connection does, and returns them as type, flags,
// stream and payload, and whether all of b was used.
func Frames(b []byte) (all []Frame, whole bool) {
	for len(b) > 0 {
		f, ok := parseFrame(b)
		if !ok || len(f.payload) < f.length || f.length > maxFrame {
			return all, false
		}
		all = append(all, Frame{byte(f.typ), f.flags, f.id, f.payload})
		b = b[frameHeaderSize+f.length:]
	}
	return all, true
}

// Frame is a frame.
type Frame struct {
	Type, Flags byte
	Stream      uint32
	Payload     []byte
}
