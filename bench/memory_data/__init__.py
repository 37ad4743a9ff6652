"""Keep the labelled texts that ``bench.memory`` measures on: sentences, pairs, restatements and weeks of chats.

The files in ``heldout`` were written from a description of the labels, without knowledge of the rules and the training
data. Nothing may be tuned on them, except on ``pairs.jsonl``, which ``bench.training.endings`` reads since. The hard
pairs of ``pairs.near.jsonl`` were written before its present thresholds. All other files are for development, also
those named *unseen*, which were held out from earlier versions.
"""
