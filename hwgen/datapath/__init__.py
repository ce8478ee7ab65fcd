"""Parts of datapaths: decoded operands, products, adders."""
