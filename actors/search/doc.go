// Package search finds messages by their words: how a text is taken apart, what the index of an agency looks like in the
// store, and how it is walked. It is a leaf that knows no actor: the agency writes the index, the platform reads it.
//
// The index is made of documents. An agency's log is cut into blocks of BlockSize positions; for each word that occurs in
// a block there is one document with the positions that have it, under agency/word/block. The document under the empty
// word says how far the index reaches; behind that messages are read themselves. A block is indexed once, when it is
// full; the words that an edit adds later become documents of their own beside it. Nothing is ever taken out: a hit only
// counts when the message as it is now matches, so the index may hold more than there is but never less.
package search
