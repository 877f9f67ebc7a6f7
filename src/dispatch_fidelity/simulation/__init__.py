"""Scripted agents: honest, lying, substituting, crashing."""
