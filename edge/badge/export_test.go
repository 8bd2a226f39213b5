package badge

// Advances lets the tests measure the words of a badge with its own table.
var Advances = advances[bold]
