// Package porttest gives tests loopback ports for servers that cannot report the port they listen on.
//
// Input: a test. Output: an address below the range from which the kernel takes ports on its own.
// A server that can listen on port 0 and report its port needs no address from here.
package porttest
