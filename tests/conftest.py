"""Makes the helpers beside the tests (`generators`, `clingo_judge`) importable from every folder of tests."""
