"""What the child that reads files says of one."""


class FileRefused(Exception):
    """The file is not accepted. The text completes "body.file ..."."""
