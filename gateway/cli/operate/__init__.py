"""Commands that look after what a gateway keeps."""
