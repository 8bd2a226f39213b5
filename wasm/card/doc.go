// Package card implements the declarative scorecard: one JSON file that says what a
// method measures and how much each finding counts. A card is evaluated natively, as
// the reference, and compiled to a scorer/1 module.
//
// Input: a card file, and inputs as numbers. Output: an abi.Result, or the bytes of a
// module that returns the same result bit by bit. The package must not
// depend on the engine that runs the module, or on facts, brands and pages.
//
// # The file
//
// Schema returns its JSON Schema for editors, and Format formats it. Unknown members
// are rejected, except "$schema", which names the schema for editors. Numbers are
// decimal with at most three digits after the point, in units of the input.
//
//	{
//	  "name": "example", "version": "1.0.0",
//	  "methodology": {"id": "example", "version": "1.0", "url": "/methodology"},
//	  "author": "…", "licence": "Apache-2.0",
//	  "inputs": [{"name": "home.words", "unit": "words", "direction": "up"}, …],
//	  "components": [{
//	    "id": "text", "label": "Text", "weight": 100,
//	    "signals": [{
//	      "id": "text.words", "label": "Words on the page", "points": 100,
//	      "advice": "Write more.",
//	      "combine": "mean",
//	      "parts": [{"input": "home.words", "weight": 2, "curve": {"linear": [[50, 0], [300, 1]]}}]
//	    }]
//	  }],
//	  "gates": [{
//	    "id": "app_shell", "limit": 50, "reason": "…",
//	    "when": {"input": "home.words", "op": "lt", "value": 50}
//	  }]
//	}
//
// The points of a component's signals add up to its weight, all weights to 100.
// Direction (up, down or none) declares how the score may move when the input
// grows.
//
// # Signals
//
// Each part turns one input into a mark of 0 to 1 by its curve, in whole
// thousandths. Combine is "mean", which is weighted, or "min", which allows no
// weights; the default weight is 1. Parts whose input is not applicable are ignored;
// if all are, the signal is not applicable. If any other part is unknown, so is the
// signal.
//
// # Curves
//
//   - {"linear": [[x, y], …]}: straight lines between points of growing x, flat
//     before the first and after the last.
//   - {"steps": [[x, y], …], "beyond": z}: the y of the first x that is not
//     below the input; z after the last. The default of beyond is 0.
//
// Curves are flat outside their points, so no input is too large for them. All
// divisions round half up.
//
// # Gates
//
// A gate caps the score while its condition holds. A condition compares one
// input (op "lt", "eq" or "gt"), or joins others: {"all": […]}, {"any": […]}.
// Comparing an input that is unknown or not applicable is false.
package card
