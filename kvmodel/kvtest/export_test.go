package kvtest

// Seeds is how SimulateMany chooses what to run.
var Seeds = seeds
