//! wavecrew-run
