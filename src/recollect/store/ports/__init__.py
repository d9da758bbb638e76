"""The ports of a store, one module for what belongs together, with the values that go in and out of them."""
