"""Files and images: uploads read in a confined process, storage, signed documents."""
