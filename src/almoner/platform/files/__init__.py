"""Files: uploads checked in a confined process, encrypted storage, images and signed documents."""
