"""How the models compute: every nn.Module of the package, in torch."""
