package main

// Main is the program itself, for a test that runs it in a process of its own.
func Main() { main() }
