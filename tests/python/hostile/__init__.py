"""What Python may pass to farcall, at random. It must never crash, hang or leave by inner errors.

There are targets: arguments of every public function, trees, and memory from elsewhere (DLPack and
numpy). ``python -m hostile TARGET`` makes many calls, in processes of their own, so that a crash is
a finding and not the end.
"""
