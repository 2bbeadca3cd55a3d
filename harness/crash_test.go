package harness_test

const childLog = "KEYWAVE_CHILD_LOG"

func child(path string) {}
