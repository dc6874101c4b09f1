"""Reading whole pages: straightened, taken apart into blocks and lines, read line by line, put together again."""
