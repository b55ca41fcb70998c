"""Is a model right? Verdicts, and measured resources beside their bounds."""
