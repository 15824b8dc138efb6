"""Claims in dispute: what freezes one claim when its parties cannot agree, and how it gets out of that again."""
