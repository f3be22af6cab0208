"""The next-item model around the kernel: relevance prior, basket index, mixture of experts, tuning."""
