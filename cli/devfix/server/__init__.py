"""`devfix server`: diagnostics, quick fixes and rule pages for editors, over the language server protocol."""
