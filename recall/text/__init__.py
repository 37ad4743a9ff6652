"""Turn text into terms: words, stems, irregular forms and dates, for documents and questions alike."""
