"""Every kind of fact on the tapes, as a class; `docs/inside/journal.md` says when facts are written."""
