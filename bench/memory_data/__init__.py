"""Keep the labelled texts that ``bench.memory`` measures on: sentences, pairs, restatements and three weeks of chats.

The files named *unseen* and the weeks were written by people who knew neither the rules nor the training data. Nothing
may be tuned on them.
"""
