"""The words and phrases by which sentences are read: `phrases.md` has them, `phrase` says it of a text."""
