"""A repository's commits where others see them: messages, hosts, pull requests."""
