"""The detector: a fully convolutional, anchor-free network in plain PyTorch, and its training."""
