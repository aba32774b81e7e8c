// Package decide says whether a conversation's thread may still be used, and what becomes
// of the conversation's binding.
//
// Thread is the decision: a pure function of the binding and of what a thread would be
// started with now. Started and Resumed are its effects, AfterResume and AfterTurn what
// follows from a failure. The laws, which the tests hold it to: a thread is never resumed
// across a fingerprint that differs; what makes no difference to a fingerprint starts no
// thread; and once the effect is in the binding, the same decision is a resume.
//
// A binding is not taken away before there is another: it is replaced when the new thread
// has started, so that a start that fails costs nothing.
//
// All of it may be used by several goroutines.
package decide
