package card

// Card is a scorecard that passed Parse.
type Card struct{ name string }

// Name returns the card's name.
func (c *Card) Name() string { return c.name }
