"""A project's own test suite in the place of a script: what its tests make lives on the accelerator.

What the library under test makes lives where its own code says. So a device error in the library is one that its users
get, whose tensors are on their device.
"""
