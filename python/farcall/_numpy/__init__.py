"""The functions of farcall.numpy that are made of others, in families."""
