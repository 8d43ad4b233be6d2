"""Where values live: constraints from the IR and the catalogue, and the conflicts between them."""
