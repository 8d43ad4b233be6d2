"""Repositories as git has them: clones, remotes, trees and worktrees, by a git that trusts nobody."""
