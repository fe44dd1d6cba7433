"""People's messages on their way in: sanitized, admitted, routed, and read as a command or a message."""
