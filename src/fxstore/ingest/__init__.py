"""Sources in, plain tables out. Only this package (and ``fxstore.fx_viewer``) may import torch or executorch."""
