"""Every kind of fact on the tapes, as a class; `docs/journal.md` says when facts are written."""
