"""The runtime's questions to a model: words, values and choices; asked together, with answers read and checked."""
